import java.io.IOException;
import java.nio.charset.StandardCharsets;
import org.deidentifier.arx.ARXAnonymizer;
import org.deidentifier.arx.ARXConfiguration;
import org.deidentifier.arx.ARXResult;
import org.deidentifier.arx.AttributeType;
import org.deidentifier.arx.AttributeType.Hierarchy;
import org.deidentifier.arx.Data;
import org.deidentifier.arx.DataDefinition;
import org.deidentifier.arx.criteria.DistinctLDiversity;
import org.deidentifier.arx.criteria.KAnonymity;

/**
 * ARX on the table of the benchmarks: k-anonymity and distinct l-diversity, nothing suppressed.
 *
 * Arguments: table.csv, out.csv, k, l, the identifying column, the sensitive column, then for each quasi-identifier
 * its name and the CSV file of its hierarchy. Prints the seconds from the CSV files to the CSV file that is written.
 */
public final class Arx {
    private static final char SEPARATOR = ';';

    public static void main(String[] arguments) throws IOException {
        long begun = System.nanoTime();
        Data data = Data.create(arguments[0], StandardCharsets.UTF_8, SEPARATOR);
        DataDefinition definition = data.getDefinition();
        definition.setAttributeType(arguments[4], AttributeType.IDENTIFYING_ATTRIBUTE);
        definition.setAttributeType(arguments[5], AttributeType.SENSITIVE_ATTRIBUTE);
        for (int at = 6; at < arguments.length; at += 2) {
            definition.setAttributeType(
                    arguments[at], Hierarchy.create(arguments[at + 1], StandardCharsets.UTF_8, SEPARATOR));
        }
        ARXConfiguration configuration = ARXConfiguration.create();
        configuration.addPrivacyModel(new KAnonymity(Integer.parseInt(arguments[2])));
        configuration.addPrivacyModel(new DistinctLDiversity(arguments[5], Integer.parseInt(arguments[3])));
        configuration.setSuppressionLimit(0d);
        ARXResult result = new ARXAnonymizer().anonymize(data, configuration);
        if (!result.isResultAvailable()) {
            throw new IllegalStateException("ARX found no table that keeps what was asked");
        }
        result.getOutput(false).save(arguments[1], SEPARATOR);
        System.out.println((System.nanoTime() - begun) / 1e9);
    }
}
